environment=$VENVS/virtualizarr
packaging/environment.sh "$environment" testing/suites/virtualizarr/requirements.lock
arguments=(--folder "$folder")
