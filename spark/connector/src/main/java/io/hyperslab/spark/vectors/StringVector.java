package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** UTF-8 strings with 32-bit offsets. */
final class StringVector extends ArrowVector {
  private final long offsets;
  private final long bytes;

  StringVector(long array, long base) {
    super(DataTypes.StringType, array, base);
    offsets = CData.arrayBuffer(array, 1) + 4L * this.base;
    bytes = CData.arrayBuffer(array, 2);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    // As in other columnar readers, a caller that keeps the string beyond the batch must copy it.
    int start = Platform.getInt(null, offsets + 4L * row);
    int end = Platform.getInt(null, offsets + 4L * row + 4);
    return UTF8String.fromAddress(null, bytes + start, end - start);
  }
}
