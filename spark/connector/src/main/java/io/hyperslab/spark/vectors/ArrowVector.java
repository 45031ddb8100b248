package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column backed by Arrow memory. The memory belongs to the reader of the batch, so closing a vector has no effect. Each
 * physical type has a final class, so that calls in Spark's generated loops stay monomorphic.
 */
abstract class ArrowVector extends ColumnVector {
  /** Position of row 0 in the buffers. */
  final long base;

  private final long validity;
  private final int nulls;

  /**
   * @param array address of the {@code ArrowArray}
   * @param base position of row 0 before the array's own offset
   */
  ArrowVector(DataType type, long array, long base) {
    super(type);
    this.base = base + CData.arrayOffset(array);
    this.validity = CData.arrayBuffer(array, 0);
    // -1 means that the nulls were not counted.
    long counted = CData.arrayNulls(array);
    this.nulls = validity == 0
        ? 0
        : counted < 0 ? Math.toIntExact(CData.arrayLength(array)) : Math.toIntExact(counted);
  }

  static boolean bit(long buffer, long position) {
    return (Platform.getByte(null, buffer + (position >> 3)) >> (position & 7) & 1) != 0;
  }

  @Override
  public final boolean hasNull() {
    return nulls > 0;
  }

  @Override
  public final int numNulls() {
    return nulls;
  }

  @Override
  public final boolean isNullAt(int row) {
    return nulls > 0 && !bit(validity, base + row);
  }

  @Override
  public final void close() {}

  private UnsupportedOperationException mismatch(String requested) {
    return new UnsupportedOperationException(
        "cannot read a column of type " + dataType().catalogString() + " as " + requested);
  }

  @Override
  public boolean getBoolean(int row) {
    throw mismatch("boolean");
  }

  @Override
  public byte getByte(int row) {
    throw mismatch("byte");
  }

  @Override
  public short getShort(int row) {
    throw mismatch("short");
  }

  @Override
  public int getInt(int row) {
    throw mismatch("int");
  }

  @Override
  public long getLong(int row) {
    throw mismatch("long");
  }

  @Override
  public float getFloat(int row) {
    throw mismatch("float");
  }

  @Override
  public double getDouble(int row) {
    throw mismatch("double");
  }

  @Override
  public ColumnarArray getArray(int row) {
    throw mismatch("array");
  }

  @Override
  public ColumnarMap getMap(int row) {
    throw mismatch("map");
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    throw mismatch("decimal");
  }

  @Override
  public UTF8String getUTF8String(int row) {
    throw mismatch("string");
  }

  @Override
  public byte[] getBinary(int row) {
    throw mismatch("binary");
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    throw mismatch("struct");
  }
}
