package io.hyperslab.spark;

/** The data source {@code netcdf}: {@link Hdf5DataSource} under another name. */
public final class NetcdfDataSource extends Hdf5DataSource {
  @Override
  public String shortName() {
    return "netcdf";
  }
}
