#!/usr/bin/env bash
# lint.sh HELM KUBECONFORM SCHEMAS: has helm lint the chart, and kubeconform check what the chart becomes of each file of values, and
# the example of a sidecar, by the oldest Kubernetes that the chart takes and by a new one.
set -euo pipefail
helm=$1 kubeconform=$2 schemas=$3
here=$(dirname "$0")
kubernetes=$here/../../../deploy/kubernetes
# Kinds of the Prometheus operator have no schema there.
conforms() {
	for version in 1.29.0 1.37.0; do
		"$kubeconform" -strict -summary -kubernetes-version "$version" -skip ServiceMonitor,PodMonitor \
			-schema-location "$schemas/{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json" "$@"
	done
}
for values in "$kubernetes/tensortap/values.yaml" "$here"/values/*.yaml; do
	"$helm" lint --strict --quiet "$kubernetes/tensortap" --values "$values"
	"$helm" template fleet "$kubernetes/tensortap" --namespace tensortap --kube-version 1.29.0 --values "$values" >"$schemas/rendered.yaml"
	conforms "$schemas/rendered.yaml"
done
conforms "$kubernetes/sidecar.yaml"
