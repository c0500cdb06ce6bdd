#!/bin/sh
# Downloads by whatever is there, believed only by the digest in the document. Sourced by the bootstrap script.
# shellcheck disable=SC2154

digest_by() {
  case $1 in
  sha256sum) sha256sum ;;
  openssl) openssl dgst -sha256 -r ;;
  python3) python3 -I -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())' ;;
  perl) perl -MDigest::SHA -e 'print Digest::SHA->new(256)->addfile(*STDIN)->hexdigest' ;;
  esac
}

# has_digest FILE HEX: false also where nothing on this machine can tell.
has_digest() {
  [ -f "$1" ] || return 1
  for tool in sha256sum openssl python3 perl; do
    digest=$(digest_by "$tool" <"$1" 2>/dev/null) || continue
    digest=${digest%% *}
    if [ ${#digest} = 64 ]; then [ "$digest" = "$2" ]; return; fi
  done
  say "$stage" retry "no working sha256sum, openssl, python3 or perl"
  return 1
}

# get_by TOOL REQUEST TARGET [HEX]: the address is in the file REQUEST, since everybody can read a command line.
get_by() {
  case $1 in
  curl)
    printf 'url = "%s"\n' "$(cat "$2")" >"$2.curl"
    bounded "$ATTEMPT_SECONDS" curl --config "$2.curl" --fail --silent --show-error --location \
      --proto =http,https --connect-timeout 10 --speed-limit 1 --speed-time 20 --output "$3"
    ;;
  wget) bounded "$ATTEMPT_SECONDS" wget -q -T 20 -t 1 -O "$3" -i "$2" ;;
  python3)
    bounded "$ATTEMPT_SECONDS" python3 -I -c 'import shutil, sys, urllib.request
url = open(sys.argv[1]).read().strip()
with urllib.request.urlopen(url, timeout=20) as answer, open(sys.argv[2], "wb") as file:
    shutil.copyfileobj(answer, file)' "$2" "$3"
    ;;
  # Of busybox: without a time-out of its own, which some builds die of.
  busybox) bounded "$ATTEMPT_SECONDS" wget -q -O "$3" "$(cat "$2")" ;;
  apt-helper) bounded "$ATTEMPT_SECONDS" /usr/lib/apt/apt-helper download-file "$(cat "$2")" "$3" "SHA256:$4" ;;
  esac
}

tools() {
  for tool in curl wget python3; do if have "$tool"; then echo "$tool"; fi; done
  if have wget; then echo busybox; fi
  if have /usr/lib/apt/apt-helper; then echo apt-helper; fi
}

host_of() { host=${1#*://}; printf '%s\n' "${host%%[/?#]*}"; }

# obtain URLS HEX TARGET: the first source and tool that give the pinned bytes. TARGET appears whole or not at all.
obtain() {
  if has_digest "$3" "$2"; then return 0; fi
  (umask 022 && mkdir -p "${3%/*}")
  until=$(($(uptime) + TOTAL_SECONDS))
  pause=1
  said='nothing on this machine can fetch'
  while :; do
    # A tool that is broken fails fast at every source; a source that hangs costs one tool's patience, not all tools'.
    for by in $(tools); do
      for url in $1; do
        if [ "$(uptime)" -ge "$until" ]; then
          rm -f "$3.part"
          why "no source gave the pinned file within ${TOTAL_SECONDS}s: $said"
        fi
        if try "$by" "$url" "$2" "$3"; then return 0; fi
      done
    done
    sleep "$pause"
    pause=$((pause < 30 ? pause * 2 : 30))
  done
}

try() {
  rm -f "$4.part"
  printf '%s\n' "$2" >"$live/request"
  if ! get_by "$1" "$live/request" "$4.part" "$3" >/dev/null 2>&1; then
    said="$1 could not fetch from $(host_of "$2")"
    say "$stage" retry "$said"
    return 1
  fi
  if ! has_digest "$4.part" "$3"; then
    said="wrong checksum from $(host_of "$2"), by $1"
    say "$stage" retry "$said"
    return 1
  fi
  flush "$4.part"
  mv -f "$4.part" "$4"
}

# obtain_once URL TARGET: a secret that is given out once. Only tools that keep the address off their command line.
obtain_once() {
  mkdir -p "${2%/*}"
  printf '%s\n' "$1" >"$live/request"
  for attempt in 1 2 4 8 16 30; do
    for tool in curl python3; do
      if have "$tool" && get_by "$tool" "$live/request" "$2.part" >/dev/null 2>&1 && [ -s "$2.part" ]; then
        flush "$2.part"
        mv -f "$2.part" "$2"
        rm -f "$live/request" "$live/request.curl"
        return 0
      fi
      rm -f "$2.part"
    done
    say "$stage" retry "no secret from $(host_of "$1")"
    sleep "$attempt"
  done
  why "$(host_of "$1") gives no secret. If somebody else has fetched it, revoke it, and rent another machine"
}
