# %% [markdown]
# # A simulation's first day
#
# The two example codes have written particles (H5Part) and fields (H5Block), each by several processes:
#
#     mpiexec -n 4 python examples/particle_code.py particles.h5part
#     mpiexec -n 4 python examples/field_code.py fields.h5
#
# This notebook looks at what they have made. Run it in the folder of these files; if they are missing, it makes small ones itself.

# %%
import pathlib

import hyperslab as hs
import matplotlib.pyplot as plt
import numpy as np

if not pathlib.Path("particles.h5part").exists():
    import particle_code

    particle_code.run(pathlib.Path("particles.h5part"), particles=4000, steps=40)
if not pathlib.Path("fields.h5").exists():
    import field_code

    field_code.run(pathlib.Path("fields.h5"), cells=32, steps=30)

run = hs.models.h5part.open("particles.h5part")
fields = hs.models.h5block.open("fields.h5")
print(run, fields, sep="\n")
assert run.validate() == [] and fields.validate() == []

# %% [markdown]
# ## What is there
#
# A file is one table over all steps. `steps` has a row for each step.

# %%
print(run.particles().schema)
run.steps.to_pandas()[["step", "time", "particles"]].tail(3)

# %% [markdown]
# ## SQL
#
# How far out are the particles, and how fast? Only the columns of the question are read.

# %%
spread = hs.sql(
    """
    select step, time, count(*) as n, sqrt(avg(x * x + y * y)) as radius, sqrt(avg(z * z)) as height, avg(energy) as energy
    from particles group by step, time order by step
    """,
    run.file,
).df()

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot(spread.time, spread.radius, label="radius")
left.plot(spread.time, spread.height, label="height")
left.set(xlabel="time", ylabel="root mean square", title="Size of the cloud")
left.legend()
right.plot(spread.time, spread.energy, color="tab:red")
right.set(xlabel="time", ylabel="mean energy", title="Kinetic energy")
figure.savefig("cloud.png")

# %% [markdown]
# ## A value index
#
# An index on energy and identifier finds the fastest particles without reading the arrays. It is built once, next to the file. Whatever
# asks for these arrays uses it from now on.

# %%
hs.index("particles.h5part", ["/Step#*/energy", "/Step#*/id"])
run = hs.models.h5part.open("particles.h5part")
last = int(run.steps["step"][-1].as_py())
limit = float(np.sort(run.particles(columns=["energy"], steps=last).to_arrow()["energy"])[-6])
fastest = run.particles(f"energy > {limit!r}", ["id", "energy"], steps=last)
print(*fastest.explain().splitlines()[-4:], sep="\n")
ids = fastest.to_arrow()["id"].to_pylist()
print(ids)

# %% [markdown]
# ## Trajectories
#
# The paths of these particles through all steps. The units are attributes of the arrays.

# %%
paths = run.trajectories(ids, ["x", "y", "z"]).to_pandas()
labels = {name: f"{name} ({run.file[f'Step#{last}/{name}'].attrs['unit']})" for name in "xyz"}

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for number, path in paths.groupby("id"):
    left.plot(path.x, path.y, ".-", label=f"particle {number}")
    right.plot(path.time, path.z, ".-")
left.set(xlabel=labels["x"], ylabel=labels["y"], title="Paths seen along the field", aspect="equal")
left.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.02, 1))
right.set(xlabel="time", ylabel=labels["z"], title="Oscillation along the field")
figure.savefig("trajectories.png")

# %% [markdown]
# ## Histograms
#
# One pass over the file for each; the bins are counted where the values are read.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
edges = np.linspace(0, 1.2 * limit, 61)
for step in (0, last // 2, last):
    counts, _ = hs.query("particles.h5part", f"/Step#{step}", rows="energy").histogram("energy", edges)
    left.stairs(counts, edges, label=f"step {step}")
left.set(xlabel="energy", ylabel="particles", title="Energies", yscale="log")
left.legend()
bins = np.linspace(-1.5, 1.5, 121)
image = hs.query("particles.h5part", f"/Step#{last}", rows="x").histogram2d("x", "y", bins=[bins, bins]).values
shown = right.pcolormesh(bins, bins, np.log1p(image).T)
right.set(xlabel=labels["x"], ylabel=labels["y"], title=f"Particles of step {last}", aspect="equal")
figure.colorbar(shown, ax=right, label="log(1 + particles)")
figure.savefig("histograms.png")

# %% [markdown]
# ## A map
#
# The wave in a plane of the grid. A condition on coordinates becomes a block of the arrays: nothing else is read.

# %%
times = sorted({array.step for array in fields.arrays})
chosen = [times[0], times[len(times) // 3], times[-1]]
figure, axes = plt.subplots(1, len(chosen), figsize=(12, 3.8), layout="constrained")
middle = fields.components("phi", times[0])[0].shape[0] // 2
for axis, step in zip(axes, chosen, strict=True):
    plane = fields.cells(columns=["x", "y", "phi"], steps=step, k=(middle, middle + 1)).to_pandas()
    plane = plane.pivot(index="y", columns="x", values="phi")
    most = np.abs(plane.to_numpy()).max()
    shown = axis.pcolormesh(plane.columns, plane.index, plane.to_numpy(), cmap="RdBu_r", vmin=-most, vmax=most)
    axis.set(xlabel="x", ylabel="y", title=f"phi, step {step}", aspect="equal")
    figure.colorbar(shown, ax=axis, shrink=0.75, label=f"phi ({fields.file[f'Step#{step}/Block/phi'].attrs['unit']})")
figure.savefig("map.png")
