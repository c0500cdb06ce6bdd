#!/bin/sh
# k3s: the pinned binary or the image's, a configuration of ours, the image's own unit or ours. No installer script.
# shellcheck disable=SC2154

join() {
  put_all "$JOIN_FILES"
  if [ -n "$K3S_URLS" ]; then
    obtain "$K3S_URLS" "$K3S_SHA256" /usr/local/bin/k3s
    chmod 755 /usr/local/bin/k3s
  fi
  have k3s || why "there is no k3s on this machine"
  if ! systemctl cat k3s-agent.service >/dev/null 2>&1; then put 644 "$state/own/k3s-agent.service" "$units/k3s-agent.service"; fi
  systemctl daemon-reload
  if [ "$units" = /etc/systemd/system ]; then systemctl enable k3s-agent.service; fi
  systemctl restart --no-block k3s-agent.service
}
