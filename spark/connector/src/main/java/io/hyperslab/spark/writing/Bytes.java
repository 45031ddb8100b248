package io.hyperslab.spark.writing;

import io.hyperslab.LimitExceededException;
import java.util.Arrays;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** A growable byte buffer in the machine's byte order, which is little endian wherever Spark runs. */
final class Bytes {
  private static final int MAX_LENGTH = Integer.MAX_VALUE - 64;
  private static final int INITIAL_CAPACITY = 1 << 12;

  byte[] array = new byte[INITIAL_CAPACITY];
  int length;

  /** Extends the buffer by {@code more} bytes and returns their offset for {@link Platform}. */
  private long extend(int more) {
    if (more > MAX_LENGTH - length) {
      throw new LimitExceededException("the values of one row exceed 2 GiB", null, null, null);
    }
    if (length + more > array.length) {
      array = Arrays.copyOf(
          array, (int) Math.min(MAX_LENGTH, Math.max(2L * array.length, length + more)));
    }
    long offset = (long) Platform.BYTE_ARRAY_OFFSET + length;
    length += more;
    return offset;
  }

  void putByte(byte value) {
    Platform.putByte(array, extend(1), value);
  }

  void putShort(short value) {
    long offset = extend(Short.BYTES);
    Platform.putShort(array, offset, value);
  }

  void putInt(int value) {
    long offset = extend(Integer.BYTES);
    Platform.putInt(array, offset, value);
  }

  void putLong(long value) {
    long offset = extend(Long.BYTES);
    Platform.putLong(array, offset, value);
  }

  void putFloat(float value) {
    long offset = extend(Float.BYTES);
    Platform.putFloat(array, offset, value);
  }

  void putDouble(double value) {
    long offset = extend(Double.BYTES);
    Platform.putDouble(array, offset, value);
  }

  void put(byte[] values, int count) {
    long offset = extend(count);
    Platform.copyMemory(values, Platform.BYTE_ARRAY_OFFSET, array, offset, count);
  }

  /** Appends a string. Returns false if it contains a NUL. */
  boolean put(UTF8String text) {
    int start = length;
    long offset = extend(text.numBytes());
    text.writeToMemory(array, offset);
    for (int i = start; i < length; i++) {
      if (array[i] == 0) {
        return false;
      }
    }
    return true;
  }
}
