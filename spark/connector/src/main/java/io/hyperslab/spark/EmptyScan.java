package io.hyperslab.spark;

import io.hyperslab.NotFoundException;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

/** A scan without rows: predicates on partition columns exclude every file, or the folder was empty when it was loaded. */
final class EmptyScan implements LocalScan {
  private final StructType readSchema;
  /** The scan of the files that are there now, which a stream reads. */
  private final Supplier<Scan> listedAgain;

  EmptyScan(StructType readSchema, Supplier<Scan> listedAgain) {
    this.readSchema = readSchema;
    this.listedAgain = listedAgain;
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    Scan scan = listedAgain.get();
    if (scan instanceof EmptyScan) {
      throw new NotFoundException(
          "the folder has no files: a stream needs one when it starts, which tells the columns");
    }
    return scan.toMicroBatchStream(checkpointLocation);
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
