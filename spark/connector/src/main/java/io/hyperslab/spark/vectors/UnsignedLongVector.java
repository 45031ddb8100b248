package io.hyperslab.spark.vectors;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;

/** Unsigned 64-bit integers, read as decimals of 20 digits. */
final class UnsignedLongVector extends ArrowVector {
  private final long address;

  UnsignedLongVector(long array, long base) {
    super(DataTypes.createDecimalType(20, 0), array, base);
    address = CData.arrayBuffer(array, 1) + 8L * this.base;
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    long value = Platform.getLong(null, address + 8L * row);
    BigDecimal exact = value >= 0
        ? BigDecimal.valueOf(value)
        : new BigDecimal(BigInteger.valueOf(value).add(BigInteger.ONE.shiftLeft(64)));
    return Decimal.apply(exact, precision, scale);
  }
}
