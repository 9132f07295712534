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
for version in 1.29 1.37; do
	of=$schemas/kubernetes_validate/kubernetes-json-schema/v$version.0-local-strict
	[ -d "$of" ] || { echo "no schemas of Kubernetes $version in $of" >&2; exit 1; }
	for options in "" "${some[*]}" "--set agent.daemonset=false --set networkPolicies=false"; do
		# shellcheck disable=SC2086 # words
		"$helm" template tap tensortap --kube-version "$version.0" $options |
			"$kubeconform" -strict -summary -skip "$monitors" -schema-location "$of/{{ .ResourceKind }}{{ .KindSuffix }}.json"
	done
	"$kubeconform" -strict -summary -schema-location "$of/{{ .ResourceKind }}{{ .KindSuffix }}.json" sidecar.yaml
done
