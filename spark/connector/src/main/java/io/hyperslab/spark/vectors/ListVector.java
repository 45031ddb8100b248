package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.unsafe.Platform;

/** Variable-length lists with 32-bit offsets. */
final class ListVector extends ArrowVector {
  private final long offsets;
  private final ColumnVector items;

  ListVector(ArrayType type, long array, long base, ColumnVector items) {
    super(type, array, base);
    this.items = items;
    offsets = CData.arrayBuffer(array, 1) + 4L * this.base;
  }

  @Override
  public ColumnarArray getArray(int row) {
    int start = Platform.getInt(null, offsets + 4L * row);
    return new ColumnarArray(items, start, Platform.getInt(null, offsets + 4L * row + 4) - start);
  }
}
