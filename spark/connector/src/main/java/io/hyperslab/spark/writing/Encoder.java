package io.hyperslab.spark.writing;

import io.hyperslab.InvalidInputException;
import io.hyperslab.UnsupportedException;
import java.math.BigInteger;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Puts a value of one Spark type as it lies in the file; the native library's {@code written_type.rs} says how. */
@FunctionalInterface
interface Encoder {
  BigInteger END_OF_64_BITS = BigInteger.ONE.shiftLeft(64);

  void put(SpecializedGetters values, int place, Bytes out, Heap heap);

  /** @param nan whether a float that is null is written as NaN */
  static Encoder of(String name, DataType type, boolean nan) {
    Encoder value = ofValue(name, type, nan);
    Encoder missing = missing(name, type, nan);
    return (values, place, out, heap) ->
        (values.isNullAt(place) ? missing : value).put(values, place, out, heap);
  }

  static Encoder missing(String name, DataType type, boolean nan) {
    if (nan && type.equals(DataTypes.DoubleType)) {
      return (values, place, out, heap) -> out.putDouble(Double.NaN);
    } else if (nan && type.equals(DataTypes.FloatType)) {
      return (values, place, out, heap) -> out.putFloat(Float.NaN);
    }
    return (values, place, out, heap) -> {
      throw new UnsupportedException("column " + name
          + " has a null, which HDF5 has not: fill it first, floats with option nulls = nan");
    };
  }

  static Encoder ofValue(String name, DataType type, boolean nan) {
    if (type.equals(DataTypes.BooleanType)) {
      return (values, place, out, heap) -> out.putByte((byte) (values.getBoolean(place) ? 1 : 0));
    } else if (type.equals(DataTypes.ByteType)) {
      return (values, place, out, heap) -> out.putByte(values.getByte(place));
    } else if (type.equals(DataTypes.ShortType)) {
      return (values, place, out, heap) -> out.putShort(values.getShort(place));
    } else if (type.equals(DataTypes.IntegerType) || type.equals(DataTypes.DateType)) {
      return (values, place, out, heap) -> out.putInt(values.getInt(place));
    } else if (type.equals(DataTypes.LongType)
        || type.equals(DataTypes.TimestampType)
        || type.equals(DataTypes.TimestampNTZType)) {
      return (values, place, out, heap) -> out.putLong(values.getLong(place));
    } else if (type.equals(DataTypes.FloatType)) {
      return (values, place, out, heap) -> out.putFloat(values.getFloat(place));
    } else if (type.equals(DataTypes.DoubleType)) {
      return (values, place, out, heap) -> out.putDouble(values.getDouble(place));
    } else if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return (values, place, out, heap) -> {
        BigInteger value = values
            .getDecimal(place, decimal.precision(), decimal.scale())
            .toJavaBigDecimal()
            .toBigIntegerExact();
        if (value.signum() < 0 || value.compareTo(END_OF_64_BITS) >= 0) {
          throw new InvalidInputException(
              "column " + name + " has " + value + ", which is no unsigned integer of 64 bits");
        }
        out.putLong(value.longValue());
      };
    } else if (type instanceof StringType) {
      return (values, place, out, heap) -> {
        if (!heap.putText(values.getUTF8String(place), out)) {
          throw new UnsupportedException(
              "column " + name + " has a text with a NUL, where readers of HDF5 end it");
        }
      };
    } else if (type.equals(DataTypes.BinaryType)) {
      return (values, place, out, heap) -> {
        byte[] value = values.getBinary(place);
        heap.putAll(value, value.length, value.length, out);
      };
    } else if (type instanceof ArrayType) {
      return ofArray(name, (ArrayType) type, nan);
    } else if (type instanceof StructType) {
      return ofStruct(name, (StructType) type, nan);
    }
    throw new UnsupportedException(
        "column " + name + " of type " + type.catalogString() + " in HDF5");
  }

  static Encoder ofArray(String name, ArrayType type, boolean nan) {
    Encoder item = of(name, type.elementType(), nan);
    return (values, place, out, heap) -> {
      ArrayData array = values.getArray(place);
      // Items may put texts into the heap themselves, before the array that they are in.
      Bytes items = new Bytes();
      for (int i = 0; i < array.numElements(); i++) {
        item.put(array, i, items, heap);
      }
      heap.putAll(items.array, items.length, array.numElements(), out);
    };
  }

  static Encoder ofStruct(String name, StructType type, boolean nan) {
    StructField[] fields = type.fields();
    Encoder[] members = new Encoder[fields.length];
    for (int i = 0; i < members.length; i++) {
      members[i] = of(name + "." + fields[i].name(), fields[i].dataType(), nan);
    }
    return (values, place, out, heap) -> {
      InternalRow struct = values.getStruct(place, members.length);
      for (int i = 0; i < members.length; i++) {
        members[i].put(struct, i, out, heap);
      }
    };
  }
}
