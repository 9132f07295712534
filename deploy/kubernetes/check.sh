#!/usr/bin/env bash
# Lints the chart, and holds what it makes against the schemas of the oldest and the newest Kubernetes: check.sh HELM KUBECONFORM SCHEMAS.
# SCHEMAS is the folder of the package kubernetes-validate, which has them as files.
set -euo pipefail
cd "$(dirname "$0")"
helm=$1 kubeconform=$2 schemas=$3
# What the schemas of Kubernetes do not know.
monitors=ServiceMonitor,PodMonitor
some=(--set metrics.serviceMonitor=true --set nats.ca=authority --set 'imagePullSecrets[0].name=registry' --set storageClass=fast --set agent.nodeSelector.gpu=yes --set metrics.from.team=ops)
"$helm" lint --strict tensortap
"$helm" lint --strict tensortap "${some[@]}"
for version in 1.27 1.34; do
	found=$(find "$schemas" -path "*v$version*" -name 'deployment-apps-v1.json' | head -n 1)
	[ -n "$found" ] || { echo "no schemas of Kubernetes $version below $schemas" >&2; exit 1; }
	for options in "" "${some[*]}" "--set agent.daemonset=false --set networkPolicies=false"; do
		# shellcheck disable=SC2086 # words
		"$helm" template tap tensortap --kube-version "$version.0" $options |
			"$kubeconform" -strict -summary -skip "$monitors" -schema-location "$(dirname "$found")/{{ .ResourceKind }}{{ .KindSuffix }}.json"
	done
	"$kubeconform" -strict -summary -schema-location "$(dirname "$found")/{{ .ResourceKind }}{{ .KindSuffix }}.json" sidecar.yaml
done
