package io.hyperslab.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.types.StructType;

/**
 * The table of a {@code CREATE TABLE … AS SELECT}, which exists when its rows are written. The write itself is complete or
 * has no effect, so there is nothing to commit or to undo.
 */
final class NewTable extends Hdf5Table implements StagedTable {
  NewTable(StructType schema, Map<String, String> properties) {
    super(schema, TablePartitions.NONE, properties);
  }

  @Override
  public void commitStagedChanges() {}

  @Override
  public void abortStagedChanges() {}
}
