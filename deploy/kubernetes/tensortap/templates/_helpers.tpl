{{- define "tensortap.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "tensortap.labels" -}}
app.kubernetes.io/name: tensortap
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "tensortap.selector" -}}
app.kubernetes.io/name: tensortap
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "tensortap.container" -}}
image: {{ include "tensortap.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "tensortap.where" -}}
- {name: TENSORTAP_NATS, value: {{ .Values.nats.url | quote }}}
- {name: TENSORTAP_CREDS, value: /run/secrets/tensortap/nats.nk}
- {name: TENSORTAP_DATA, value: /data}
{{- if .Values.nats.ca }}
- {name: TENSORTAP_TLS_CA, value: /run/secrets/authority/ca.crt}
{{- end }}
{{- end }}

{{- define "tensortap.mounts" -}}
- {name: secret, mountPath: /run/secrets/tensortap, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if .Values.nats.ca }}
- {name: authority, mountPath: /run/secrets/authority, readOnly: true}
{{- end }}
{{- end }}

{{- define "tensortap.volumes" -}}
- {name: tmp, emptyDir: {sizeLimit: 64Mi}}
{{- if .Values.nats.ca }}
- {name: authority, secret: {secretName: {{ .Values.nats.ca }}}}
{{- end }}
{{- end }}
