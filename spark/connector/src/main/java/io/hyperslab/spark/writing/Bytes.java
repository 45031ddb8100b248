package io.hyperslab.spark.writing;

import io.hyperslab.LimitExceededException;
import java.util.Arrays;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Bytes that grow at their end, little endian as the machines that Spark runs on. */
final class Bytes {
  private static final int MOST = Integer.MAX_VALUE - 64;
  private static final int FIRST = 1 << 12;

  byte[] array = new byte[FIRST];
  int length;

  /** Makes room for {@code more} bytes; where they go, as {@link Platform} counts. */
  private long room(int more) {
    if (more > MOST - length) {
      throw new LimitExceededException("the values of one row exceed 2 GiB", null, null, null);
    }
    if (length + more > array.length) {
      array =
          Arrays.copyOf(array, (int) Math.min(MOST, Math.max(2L * array.length, length + more)));
    }
    long place = (long) Platform.BYTE_ARRAY_OFFSET + length;
    length += more;
    return place;
  }

  void putByte(byte value) {
    Platform.putByte(array, room(1), value);
  }

  void putShort(short value) {
    long place = room(Short.BYTES);
    Platform.putShort(array, place, value);
  }

  void putInt(int value) {
    long place = room(Integer.BYTES);
    Platform.putInt(array, place, value);
  }

  void putLong(long value) {
    long place = room(Long.BYTES);
    Platform.putLong(array, place, value);
  }

  void putFloat(float value) {
    long place = room(Float.BYTES);
    Platform.putFloat(array, place, value);
  }

  void putDouble(double value) {
    long place = room(Double.BYTES);
    Platform.putDouble(array, place, value);
  }

  void put(byte[] values, int count) {
    long place = room(count);
    Platform.copyMemory(values, Platform.BYTE_ARRAY_OFFSET, array, place, count);
  }

  /** Appends a text; false if it contains a NUL. */
  boolean put(UTF8String text) {
    int start = length;
    long place = room(text.numBytes());
    text.writeToMemory(array, place);
    for (int i = start; i < length; i++) {
      if (array[i] == 0) {
        return false;
      }
    }
    return true;
  }
}
