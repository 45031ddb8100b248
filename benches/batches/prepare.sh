# With Debian's PyTorch where it can be had; without it, and without its contestants, where not.
if LD_LIBRARY_PATH=$(testing/suites/torch/environment.sh "$VENVS/torch" testing/suites/torch/requirements.lock "$bench"/*.lock); then
	export LD_LIBRARY_PATH
	environment=$VENVS/torch
else
	unset LD_LIBRARY_PATH
	environment=.venv
fi
arguments=(--folder "$folder")
