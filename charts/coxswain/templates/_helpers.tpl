{{- define "coxswain.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "coxswain.account" -}}
{{- .Values.serviceAccount.name | default (include "coxswain.name" .) -}}
{{- end -}}

{{- define "coxswain.selector" -}}
app.kubernetes.io/name: coxswain
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "coxswain.labels" -}}
{{ include "coxswain.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* An image by its name in the registry: include "coxswain.image" (list . "operator") */ -}}
{{- define "coxswain.image" -}}
{{- $root := index . 0 -}}
{{- $images := $root.Values.images -}}
{{- $registry := required "images.registry: say where the images are, for example --set images.registry=registry.example/coxswain" $images.registry -}}
{{- printf "%s/%s:%s" (trimSuffix "/" $registry) (index $images (index . 1)) ($images.tag | default $root.Chart.AppVersion) -}}
{{- end -}}

{{- /* The settings file: the values, and what only the chart knows. */ -}}
{{- define "coxswain.settings" -}}
{{- $lease := merge (dict "name" (include "coxswain.name" .) "namespace" .Release.Namespace) .Values.settings.lease -}}
{{- $images := dict "torch" (include "coxswain.image" (list . "torch")) "spark" (include "coxswain.image" (list . "spark")) -}}
{{- toYaml (merge (dict "lease" $lease "images" $images) .Values.settings) -}}
{{- end -}}

{{- /* What the operator may do where jobs are: everywhere, or in each of the namespaces it is given. */ -}}
{{- define "coxswain.rules" -}}
- apiGroups: [coxswain.dev]
  resources: [trainingjobs, trainingexperiments]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [coxswain.dev]
  resources: [trainingjobs/status, trainingexperiments/status]
  verbs: [get, update, patch]
# Their children keep them from being deleted first, which a cluster may want to see permitted.
- apiGroups: [coxswain.dev]
  resources: [trainingjobs/finalizers, trainingexperiments/finalizers]
  verbs: [update]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [services]
  verbs: [get, create, delete]
# What the nodes of a Spark cluster know each other by. Nobody's secrets are read.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, delete]
# The ledger, and the results of experiments.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, create, update, patch, delete]
# Written to tell what happened; read to tell why a Job has no pods.
- apiGroups: [""]
  resources: [events]
  verbs: [list, create, patch]
{{- end -}}
