#!/bin/sh
# What people type, against the cluster of $KUBECONFIG: every command must work, and what must be refused is.
# Needs kubectl, the CapacityLease definition, two Nodes that are named in $NODES (default: the first two).
set -eu
: "${KUBECONFIG:?names the kubeconfig of an administrator}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() { echo "== $*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }
has() { echo "$2" | grep -q -- "$1" || fail "expected '$1' in: $2"; }
refused() { wanted=$1; shift; if said=$("$@" 2>&1); then fail "not refused: $*"; fi; has "$wanted" "$said"; }

nodes=${NODES:-$(kubectl get nodes -o name | sed 's|node/||' | head -2)}
first=$(echo "$nodes" | tr '\n' ' ' | cut -d' ' -f1)
second=$(echo "$nodes" | tr '\n' ' ' | cut -d' ' -f2)

step get
has "^NAME *STATUS" "$(kubectl get nodes)"
has "$first" "$(kubectl get nodes -o yaml)"
has "$first" "$(kubectl get node "$first" -o jsonpath='{.metadata.name}')"
refused NotFound kubectl get node no-such-node
refused "doesn't have a resource type" kubectl get no-such-kind

step annotate, label, watch
kubectl get nodes --watch --request-timeout=20s -o name >"$work/watched" 2>&1 &
watcher=$!
kubectl annotate node "$first" curfew.dev/check=1 --overwrite
kubectl annotate node "$first" curfew.dev/check=2 --overwrite
kubectl label node "$first" curfew.dev/pool=check --overwrite
has "$first" "$(kubectl get nodes -l curfew.dev/pool=check -o name)"
has "$first" "$(kubectl get nodes --field-selector "metadata.name=$first" -o name)"
kubectl label node "$first" curfew.dev/pool-
kubectl annotate node "$first" curfew.dev/check-
for _ in $(seq 100); do [ "$(grep -c "$first" "$work/watched")" -ge 3 ] && break; sleep 0.1; done
kill $watcher 2>/dev/null || true
[ "$(grep -c "$first" "$work/watched")" -ge 3 ] || fail "the watch saw: $(cat "$work/watched")"

step patch
for kind in merge strategic; do
    kubectl patch node "$first" --type $kind -p '{"metadata":{"annotations":{"curfew.dev/check":"'$kind'"}}}'
    has $kind "$(kubectl get node "$first" -o jsonpath='{.metadata.annotations.curfew\.dev/check}')"
done
kubectl patch node "$first" --type json -p '[{"op":"remove","path":"/metadata/annotations/curfew.dev~1check"}]'
condition='{"status":{"conditions":[{"type":"WatchdogArmed","status":"True","reason":"Check","message":""}]}}'
kubectl patch node "$first" --subresource status --type strategic -p "$condition"
types=$(kubectl get node "$first" -o jsonpath='{.status.conditions[*].type}')
has Ready "$types"
has WatchdogArmed "$types"

step describe
has "WatchdogArmed" "$(kubectl describe node "$first")"

step apply a lease
cat >"$work/lease.yaml" <<'YAML'
apiVersion: curfew.dev/v1alpha1
kind: CapacityLease
metadata: {name: kubectl-check}
spec: {duration: 1h, adopt: {nodeSelector: {curfew.dev/pool: nobody-has-this}}}
YAML
has created "$(kubectl apply -f "$work/lease.yaml")"
has unchanged "$(kubectl apply -f "$work/lease.yaml")"
sed 's/duration: 1h/duration: 2h/' "$work/lease.yaml" >"$work/longer.yaml"
has configured "$(kubectl apply -f "$work/longer.yaml")"
has 2h "$(kubectl get capacitylease kubectl-check -o jsonpath='{.spec.duration}')"
has kubectl-check "$(kubectl get cl)"
has 2h "$(kubectl describe capacitylease kubectl-check)"
has serverside-applied "$(kubectl apply --server-side --force-conflicts -f "$work/longer.yaml")"
sed 's/duration: 1h/duraton: 1h/' "$work/lease.yaml" >"$work/misspelt.yaml"
refused duraton kubectl apply -f "$work/misspelt.yaml"
sed 's/duration: 1h/duration: soon/' "$work/lease.yaml" >"$work/invalid.yaml"
refused invalid kubectl apply -f "$work/invalid.yaml"
refused "create another lease" kubectl patch capacitylease kubectl-check --type merge \
    -p '{"spec":{"adopt":{"nodeSelector":{"curfew.dev/pool":"other"}}}}'
kubectl delete -f "$work/lease.yaml" --wait --timeout 30s

step drain
cat >"$work/pod.yaml" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: kubectl-check, namespace: default}
spec:
  nodeName: $second
  terminationGracePeriodSeconds: 20
  containers: [{name: c, image: pause}]
YAML
kubectl apply -f "$work/pod.yaml"
kubectl drain "$second" --force --ignore-daemonsets --timeout 60s
has SchedulingDisabled "$(kubectl get node "$second")"
refused NotFound kubectl get pod kubectl-check # evicted, stopped, removed
kubectl uncordon "$second"

step events
kubectl get events -A >/dev/null
echo "kubectl: all of it works"
