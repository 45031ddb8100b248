package io.hyperslab.spark;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Sets up sessions: SQL reads paths by the catalogs {@code hdf5}, {@code h5}, {@code netcdf}, {@code netcdf4} and {@code nc},
 * and {@link Hdf5SessionCatalog} is the session catalog. A catalog that is configured already is kept.
 *
 * <pre>{@code
 * spark-sql --jars hyperslab-spark.jar --conf spark.sql.extensions=io.hyperslab.spark.Hdf5Extensions
 * select * from hdf5.`/data/run.h5`
 * }</pre>
 */
public final class Hdf5Extensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    // Sessions copy this configuration after their extensions are applied.
    SparkConf conf = SparkContext.getOrCreate().conf();
    for (String name : ShortNames.ALL) {
      conf.setIfMissing("spark.sql.catalog." + name, Hdf5Catalog.class.getName());
    }
    conf.setIfMissing("spark.sql.catalog.spark_catalog", Hdf5SessionCatalog.class.getName());
    return BoxedUnit.UNIT;
  }
}
