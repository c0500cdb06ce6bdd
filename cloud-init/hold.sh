#!/bin/sh
# Early in each boot, before Kubernetes can start. Until the bootstrap has once let it join, and wherever the units live only
# below /run: a kubelet of the image does not start, and its start is not waited for, since cloud-init's last stage, which is
# what arms this machine, comes only after everything that the boot waits for.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [ ! -e /var/lib/curfew/bootstrap/done/join ] || [ ! -e /etc/systemd/system/curfew-armed.service ]; then
  for service in kubelet k3s k3s-agent rke2-server rke2-agent; do
    mkdir -p "/run/systemd/system/$service.service.d"
    printf '[Unit]\nConditionPathExists=/run/curfew-bootstrap/armed\n' \
      >"/run/systemd/system/$service.service.d/curfew-hold.conf"
  done
  systemctl daemon-reload
  for service in kubelet k3s k3s-agent rke2-server rke2-agent; do
    systemctl stop --no-block "$service.service" 2>/dev/null
  done
fi
