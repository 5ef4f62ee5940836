"""What the CRDs and `coxswain.core.api` must agree on, as tables and strategies that are tried on both.

crds        the CRD files as values
manifests   complete manifests to start from
rules       a case for every rule, with its message and its valid neighbour
bounds      a case for every bound, enum, pattern and length, made from the schema itself
strategies  random specs made from the schema
"""
