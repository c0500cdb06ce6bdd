#!/bin/sh
# Puts the agent on this machine, arms it, and only then lets Kubernetes have the machine.
#
#   run              every stage that is not done yet, or does not hold any more; changes nothing where all are
#   run boot         early in a later boot: brings back units that live only below /run, or that were never enabled
#   run stage NAME   one stage, whatever its marker says: what `run` starts, and for a person
#
# A stage is a process of its own under `set -eu`, so that nothing it forgets to check goes on. Which way it fails: no
# join, a loud word, its files put back, and another try each minute for ever, since a machine without its switch bills
# without an end. A switch that has started is never stopped again.
# Never on a command line or in the log: a secret, or the address of one. (The agent's own address is on a command line
# where only busybox or apt-helper is left to fetch it.)
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
umask 077
trap '' PIPE

state=/var/lib/curfew/bootstrap
agent='' units='' config='' # set by `places`
stage=''
live=/run/curfew-bootstrap
# Kubernetes may start: this boot's, so it is gone with it.
gate=$live/armed
mkdir -p "$live"
for part in options place fetch join; do
  # shellcheck disable=SC1090
  . "$state/$part"
done

# say STAGE EVENT WORDS: to the log that the agent reports, to whoever started us, to the kernel's log. None may fail us.
say() {
  { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" >>"$state/log"; } 2>/dev/null || :
  { printf 'curfew-bootstrap: %s\n' "$*"; } 2>/dev/null || :
  { printf '<4>curfew-bootstrap: %s\n' "$*" >/dev/kmsg; } 2>/dev/null || :
}

# why WORDS: ends a stage, with what a person should know.
why() {
  { printf '%s\n' "$*" >"$live/why"; } 2>/dev/null || :
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# Not the wall clock, which is set during a first boot.
uptime() { read -r up _ </proc/uptime; printf '%s\n' "${up%%.*}"; }

# bounded SECONDS COMMAND…: `timeout` is not everywhere. The command has no input.
bounded() {
  limit=$1
  shift
  "$@" </dev/null 9>&- &
  running=$!
  (sleep "$limit" && kill -9 "$running") >/dev/null 2>&1 </dev/null 9>&- &
  killer=$!
  rc=0
  wait "$running" || rc=$?
  kill "$killer" 2>/dev/null || :
  return "$rc"
}

# --- stages: do_X makes it so; holds_X says whether it still is, where that can be seen --------------------------------

do_files() {
  put_all "$FILES"
  # Where /etc is read-only: a secret of the image is there, and looked for in our own place.
  for secret in token join; do
    if [ -s "/etc/curfew/$secret" ] && [ ! -e "$config/$secret" ]; then ln -sf "/etc/curfew/$secret" "$config/$secret"; fi
  done
  systemctl daemon-reload
}
holds_files() { are_placed "$FILES"; }

do_network() { find_address || why "no address in $PRIVATE_NETWORK after a minute: is the server in that network?"; }
holds_network() { [ -s "$live/address" ]; }
find_address() {
  until=$(($(uptime) + 60))
  while :; do
    found=$(ip -4 -o addr show to "$PRIVATE_NETWORK" | head -n 1)
    [ -z "$found" ] || break
    [ "$(uptime)" -lt "$until" ] || return 1
    sleep 1
  done
  printf '%s\n' "$found" | { read -r _ interface _ address _; printf '%s %s\n' "${address%/*}" "$interface"; } >"$live/address"
  read -r address interface <"$live/address"
  if [ -n "$PRIVATE_GATEWAY" ] && [ -z "$(ip -4 route show default)" ]; then
    ip route add default via "$PRIVATE_GATEWAY" dev "$interface"
  fi
}

# Bounded, since nothing stands yet: one that hangs would leave a machine without a switch and without a word.
do_early() {
  bounded "$TOTAL_SECONDS" /bin/sh -eu "$state/early" || why "an early command failed, or took more than ${TOTAL_SECONDS}s"
}
do_pre() { /bin/sh -eu "$state/pre" 9>&- || why "a command before the join failed"; }
do_post() { /bin/sh -eu "$state/post" 9>&- || why "a command after the join failed"; }

do_fetch() { holds_fetch || obtain "$AGENT_URLS" "$AGENT_SHA256" "$agent.new"; }
holds_fetch() { has_digest "$agent" "$AGENT_SHA256" || has_digest "$agent.new" "$AGENT_SHA256"; }

do_install() {
  if [ -n "$AGENT_URLS" ] && ! has_digest "$agent" "$AGENT_SHA256"; then
    chmod 755 "$agent.new"
    bounded 20 "$agent.new" version || why "the agent does not run on this machine"
    keep "$agent" || say install retry "cannot remember the old agent, so it could not be put back"
    mv -f "$agent.new" "$agent"
  fi
  holds_install || why "$agent is missing, or is not the one that was pinned"
  bounded 20 "$agent" version || why "$agent does not run on this machine"
}
holds_install() { [ -x "$agent" ] && { [ -z "$AGENT_SHA256" ] || has_digest "$agent" "$AGENT_SHA256"; }; }

do_secrets() {
  printf '%s' "$SECRETS" | while read -r target url; do
    target=$config/${target#@config/}
    [ -s "$target" ] || obtain_once "$url" "$target"
  done
}
holds_secrets() {
  printf '%s' "$SECRETS" | while read -r target _; do [ -s "$config/${target#@config/}" ] || exit 1; done
}

do_start() {
  systemctl daemon-reload
  # The agent first: nothing that fails beside it keeps it from running now.
  systemctl restart curfew-agent.service || why "curfew-agent.service does not start: journalctl -u curfew-agent"
  wrong=''
  if [ "$units" = /etc/systemd/system ]; then
    systemctl enable curfew-agent.service curfew-backstop.timer curfew-bootstrap.service || wrong="the units cannot be enabled"
  fi
  systemctl restart curfew-backstop.timer || wrong="curfew-backstop.timer does not start"
  [ -z "$wrong" ] || why "$wrong"
}
holds_start() { systemctl -q is-active curfew-agent.service && systemctl -q is-active curfew-backstop.timer; }

do_guard() {
  if [ "$units" = /etc/systemd/system ]; then systemctl enable curfew-metadata-guard.service; fi
  systemctl restart curfew-metadata-guard.service || why "the metadata guard cannot be loaded: is nftables installed?"
}
holds_guard() { systemctl -q is-active curfew-metadata-guard.service; }

do_armed() {
  if ! bounded "$ARMED_SECONDS" systemctl start curfew-armed.service; then
    words="not armed within ${ARMED_SECONDS}s: $(ready)"
    [ "$JOIN_UNARMED" = yes ] || why "$words"
    say armed retry "$words; it joins all the same, as was asked for"
  fi
  : >"$gate"
}
# Why it is not, in the agent's words.
ready() {
  set -f
  # shellcheck disable=SC2046
  bounded 20 env $(cat "$config/agent.env") "$agent" ready 2>&1 | tail -n 1
}
holds_armed() { [ -e "$gate" ]; }

# A kubelet of the image that was held back, or that gave up waiting in an earlier boot, starts.
do_join() {
  systemctl daemon-reload
  join
  for service in $HELD; do
    rm -f "/run/systemd/system/$service.service.d/curfew-hold.conf"
    if systemctl -q is-enabled "$service.service" 2>/dev/null; then systemctl start --no-block "$service.service"; fi
  done
}
holds_join() {
  for service in $HELD; do [ ! -e "/run/systemd/system/$service.service.d/curfew-hold.conf" ] || return 1; done
}

# --- the run ----------------------------------------------------------------------------------------------------------

is_done() {
  [ "$(cat "$state/done/$stage" 2>/dev/null)" = "$inputs" ] || return 1
  case $stage in early | pre | post) return 0 ;; esac
  "holds_$stage"
}

attempt() {
  say "$stage" begun
  rm -f "$live/why"
  # It has the lock too, since it may outlive us. What it leaves running has not.
  if /bin/sh "$state/run" stage "$stage"; then
    { mkdir -p "$state/done" && printf '%s\n' "$inputs" >"$state/done/$stage"; } || say "$stage" retry "cannot write its marker"
    say "$stage" 'done'
  else
    give_up "$(cat "$live/why" 2>/dev/null || echo 'see the lines before this one')"
  fi
}

give_up() {
  say "$stage" failed "$1"
  undo "$stage" || say "$stage" retry "its files could not be put back"
  if [ "$stage" = start ] && [ -e "$state/undo/install/0.was" ] && ! systemctl -q is-active curfew-agent.service; then
    # An agent that does not start gives way to the one before. Where there was none it stays: it may start later.
    undo install
    systemctl restart curfew-agent.service || :
  fi
  { printf '%s: %s\n' "$stage" "$1" >"$state/failed"; } || :
  { printf '\ncurfew: THIS MACHINE IS NOT SAFE TO LEAVE ALONE. %s: %s\n' "$stage" "$1" >/dev/console 9>&- & } 2>/dev/null
  systemctl start --no-block curfew-bootstrap.service || :
  exit 1
}

run() {
  lock || { echo "curfew-bootstrap: another run is at work"; exit 75; }
  trim 2>/dev/null || :
  places
  for entry in $STAGES; do
    stage=${entry%%=*}
    inputs=${entry#*=}
    if ! is_done; then attempt; fi
  done
  rm -rf "$state/undo" "$state/failed"
}

# A machine that fails each minute for a month must not fill its disk.
trim() {
  if [ -f "$state/log" ] && [ "$(wc -c <"$state/log")" -gt 1048576 ]; then
    tail -c 262144 "$state/log" >"$state/log.new"
    mv -f "$state/log.new" "$state/log"
  fi
}

lock() {
  exec 9>"$live/lock"
  if have flock; then flock -n 9; else
    python3 -I -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)' 2>/dev/null
  fi
}

# Also where a first boot was cut short before the units were enabled: cloud-init does not run us a second time.
boot() {
  if [ "$units" = /etc/systemd/system ] && systemctl -q is-enabled curfew-bootstrap.service; then return 0; fi
  /bin/sh "$state/run" stage files || :
  if [ -x "$agent" ]; then systemctl start --no-block curfew-agent.service curfew-backstop.timer || :; fi
  systemctl start --no-block curfew-bootstrap.service
}

if [ -s "$live/address" ]; then read -r address interface <"$live/address"; fi
case ${1-} in
'') run ;;
stage)
  stage=$2
  places
  "do_$stage"
  ;;
boot)
  places
  boot
  ;;
esac
