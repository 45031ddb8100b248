package io.hyperslab.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;

/**
 * Spark's own catalog, in which tables made with {@code CREATE TABLE … USING hdf5} can be read: Spark 3.5 keeps such
 * tables and their options, but reads tables of its own kinds of sources only. Set it as {@code
 * spark.sql.catalog.spark_catalog}; Spark 4 needs none of it.
 */
public final class Hdf5SessionCatalog extends DelegatingCatalogExtension {
  @Override
  public Table loadTable(Identifier identifier) throws NoSuchTableException {
    Table table = super.loadTable(identifier);
    String provider = table.properties().get(TableCatalog.PROP_PROVIDER);
    if (provider == null || !Hdf5DataSource.isCalled(provider)) {
      return table;
    }
    Map<String, String> properties = new HashMap<>(table.properties());
    // A table that was made without columns has those of its files, whatever they are by now.
    return table.schema().isEmpty()
        ? new Hdf5Table(Description.columnsOf(new ReadOptions(properties)), properties)
        : new Hdf5Table(table.schema(), properties);
  }
}
