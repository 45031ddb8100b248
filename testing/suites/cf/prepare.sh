prepared
options="-W ignore"
