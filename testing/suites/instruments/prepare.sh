locks+=("$suite"/without_dependencies.lock)
prepared
options="-W ignore"
