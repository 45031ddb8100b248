package io.hyperslab.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** A scan without rows: predicates on partition columns exclude every file. */
final class EmptyScan implements LocalScan {
  private final StructType readSchema;

  EmptyScan(StructType readSchema) {
    this.readSchema = readSchema;
  }

  @Override
  public StructType readSchema() {
    return readSchema;
  }

  @Override
  public InternalRow[] rows() {
    return new InternalRow[0];
  }

  @Override
  public String description() {
    return "hdf5, no files: predicates on partition columns exclude all";
  }
}
