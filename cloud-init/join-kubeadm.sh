#!/bin/sh
# kubeadm: joins once; a machine that has joined only gets its kubelet's options.
# shellcheck disable=SC2154

join() {
  put_all "$JOIN_FILES"
  systemctl daemon-reload
  if [ -e /etc/kubernetes/kubelet.conf ]; then return 0; fi
  have kubeadm || why "there is no kubeadm on this machine"
  case $JOIN_SECRET in @config/*) JOIN_SECRET=$config/${JOIN_SECRET#@config/} ;; esac
  kubeadm join --config "$JOIN_SECRET" 9>&- || why "kubeadm join failed"
}
