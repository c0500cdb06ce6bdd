#!/bin/sh
# Where things go on this machine, and files that can be put back. Sourced by the bootstrap script.
# shellcheck disable=SC2154

can_run_from() {
  mkdir -p "$1" 2>/dev/null && [ -w "$1" ] || return 1
  free=$(df -Pk "$1" | { read -r _; read -r _ _ _ kib _; printf '%s' "$kib"; })
  [ "${free:-0}" -ge 16384 ] || return 1
  trial=$1/.curfew-trial
  rc=1
  if printf '#!/bin/sh\n' >"$trial" && chmod 700 "$trial" && "$trial"; then rc=0; fi 2>/dev/null
  rm -f "$trial"
  return "$rc"
}

# Sets agent, units, config: what is read-only, full or noexec is passed over. Where an agent is, there it stays, if
# it is the pinned one or can be replaced.
places() {
  agent=$AGENT_ON_IMAGE
  dirs="$BIN_DIR /opt/curfew/bin /var/lib/curfew/bin $live/bin"
  for dir in $dirs; do
    if [ -z "$agent" ] && [ -f "$dir/curfew-agent" ]; then
      if has_digest "$dir/curfew-agent" "$AGENT_SHA256" || can_run_from "$dir"; then agent=$dir/curfew-agent; fi
    fi
  done
  for dir in $dirs; do
    if [ -z "$agent" ] && can_run_from "$dir"; then agent=$dir/curfew-agent; fi
  done
  agent=${agent:-$BIN_DIR/curfew-agent}

  units=/etc/systemd/system
  if [ "$TRANSIENT" = yes ] || ! mkdir -p "$units" 2>/dev/null || [ ! -w "$units" ]; then
    units=/run/systemd/system
  fi
  config=/etc/curfew
  if ! mkdir -p "$config" 2>/dev/null || [ ! -w "$config" ]; then config=/var/lib/curfew/etc; fi
}

# keep PATH: remembers what was there before this stage, once, so that a stage killed and run again still knows.
keep() {
  kept=$state/undo/$stage
  number=0
  while [ -f "$kept/$number.path" ]; do
    [ "$(cat "$kept/$number.path")" != "$1" ] || return 0
    number=$((number + 1))
  done
  mkdir -p "$kept" || return 1
  rm -f "$kept/$number.was"
  if [ -e "$1" ]; then cp -p "$1" "$kept/$number.was" || return 1; fi
  printf '%s\n' "$1" >"$kept/new" && mv "$kept/new" "$kept/$number.path"
}

undo() {
  for entry in "$state/undo/$1"/*.path; do
    [ -f "$entry" ] || continue
    target=$(cat "$entry")
    if [ ! -e "${entry%.path}.was" ]; then
      rm -f "$target" || return 1
    elif cp -p "${entry%.path}.was" "$target.curfew-was"; then
      mv -f "$target.curfew-was" "$target" || return 1
    else
      return 1
    fi
  done
  if [ -d "$state/undo/$1" ]; then say "$1" undone "its files are as they were"; fi
  rm -rf "$state/undo/$1"
}

is_like() { cmp -s "$2" "$3" && [ -n "$(find "$3" -prune -perm "$1")" ]; }

# put MODE SOURCE TARGET: at every moment the target is either the old file or the new one, whole.
put() {
  if is_like "$@"; then return 0; fi
  (umask 022 && mkdir -p "${3%/*}")
  keep "$3" || say "$stage" retry "cannot remember what $3 was, so it could not be put back"
  replace "$@"
}

replace() {
  part=${3%/*}/.curfew-part
  cp "$2" "$part"
  chmod "$1" "$part"
  flush "$part"
  mv -f "$part" "$3"
}

flush() { sync "$1" 2>/dev/null || sync; }

# placed MANIFEST: lines `MODE SOURCE TARGET` with the places of this machine. What lies in own/ names them inside, too.
placed() {
  mkdir -p "$live/own"
  printf '%s' "$1" | while read -r mode source target; do
    case $target in
    @units/*) target=$units/${target#@units/} ;;
    @config/*) target=$config/${target#@config/} ;;
    esac
    case $source in
    own/*)
      sed -e "s|/usr/local/bin/curfew-agent|$agent|g" -e "s|/etc/curfew/|$config/|g" \
        -e "s|@NODE_ADDRESS@|${address-}|g" -e "s|@NODE_INTERFACE@|${interface-}|g" "$state/$source" >"$live/$source"
      printf '%s %s %s\n' "$mode" "$live/$source" "$target"
      ;;
    *) printf '%s %s %s\n' "$mode" "$state/$source" "$target" ;;
    esac
  done
}

put_all() {
  placed "$1" >"$live/manifest"
  while read -r mode source target; do put "$mode" "$source" "$target"; done <"$live/manifest"
}

are_placed() {
  placed "$1" >"$live/manifest"
  while read -r mode source target; do is_like "$mode" "$source" "$target" || return 1; done <"$live/manifest"
}
