package io.hyperslab.spark;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** The names of the format and of the catalogs of paths: {@link Hdf5DataSource} is called hdf5, and these are its other names. */
public final class ShortNames {
  /** All names, in lower case. */
  static final List<String> ALL =
      Collections.unmodifiableList(Arrays.asList("hdf5", "h5", "netcdf", "netcdf4", "nc"));

  private ShortNames() {}

  /** The data source {@code h5}. */
  public static final class H5 extends Hdf5DataSource {
    @Override
    public String shortName() {
      return "h5";
    }
  }

  /** The data source {@code netcdf}. */
  public static final class Netcdf extends Hdf5DataSource {
    @Override
    public String shortName() {
      return "netcdf";
    }
  }

  /** The data source {@code netcdf4}. */
  public static final class Netcdf4 extends Hdf5DataSource {
    @Override
    public String shortName() {
      return "netcdf4";
    }
  }

  /** The data source {@code nc}. */
  public static final class Nc extends Hdf5DataSource {
    @Override
    public String shortName() {
      return "nc";
    }
  }

  /** Whether the provider of a table ({@code USING provider}) is one of these names, or the class of one. */
  static boolean isProvider(String provider) {
    return ALL.stream().anyMatch(provider::equalsIgnoreCase)
        || provider.equals(Hdf5DataSource.class.getName())
        || provider.startsWith(ShortNames.class.getName() + "$");
  }
}
