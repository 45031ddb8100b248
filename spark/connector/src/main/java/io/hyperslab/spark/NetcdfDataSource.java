package io.hyperslab.spark;

/** {@code spark.read.format("netcdf")}: the same reader under the other format's name. */
public final class NetcdfDataSource extends Hdf5DataSource {
  @Override
  public String shortName() {
    return "netcdf";
  }
}
