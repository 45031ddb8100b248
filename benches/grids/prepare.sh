environment=$VENVS/grids
packaging/environment.sh "$environment" testing/suites/grids/requirements.lock
