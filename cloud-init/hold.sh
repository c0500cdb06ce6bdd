#!/bin/sh
# Early in each boot, before Kubernetes can start: a baked kubelet waits for the bootstrap, and units that live only in
# /run come back. Where the unit's own drop-in is installed it does the holding, and nothing is held twice.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
for service in kubelet k3s k3s-agent rke2-server rke2-agent; do
  if [ ! -e "/etc/systemd/system/$service.service.d/no-watchdog-no-join.conf" ]; then
    mkdir -p "/run/systemd/system/$service.service.d"
    printf '[Unit]\nConditionPathExists=/run/curfew-bootstrap/armed\n' \
      >"/run/systemd/system/$service.service.d/curfew-hold.conf"
  fi
done
systemctl daemon-reload
