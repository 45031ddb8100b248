package io.hyperslab.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** No rows: predicates on columns of folders have left no file. */
final class EmptyScan implements LocalScan {
  private final StructType wanted;

  EmptyScan(StructType wanted) {
    this.wanted = wanted;
  }

  @Override
  public StructType readSchema() {
    return wanted;
  }

  @Override
  public InternalRow[] rows() {
    return new InternalRow[0];
  }

  @Override
  public String description() {
    return "hdf5, no file: the names of folders leave none";
  }
}
