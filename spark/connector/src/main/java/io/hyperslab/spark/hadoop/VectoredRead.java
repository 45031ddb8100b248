package io.hyperslab.spark.hadoop;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.FSDataInputStream;

/**
 * Hadoop's vectored reads, which request several ranges at the same time. They exist since Hadoop 3.3.5, and Spark 3.5 comes
 * with 3.3.4, so they are looked up when the program runs.
 */
final class VectoredRead {
  /** The capability of streams that request ranges side by side. */
  private static final String CAPABILITY = "in:readvectored";

  private static final MethodHandle MAKE;
  private static final MethodHandle READ;
  private static final MethodHandle DATA;

  static {
    MethodHandle make = null;
    MethodHandle read = null;
    MethodHandle data = null;
    try {
      MethodHandles.Lookup lookup = MethodHandles.publicLookup();
      Class<?> range = Class.forName(
          "org.apache.hadoop.fs.FileRange", false, FSDataInputStream.class.getClassLoader());
      make = lookup.findStatic(
          range, "createFileRange", MethodType.methodType(range, long.class, int.class));
      data = lookup.findVirtual(range, "getData", MethodType.methodType(CompletableFuture.class));
      read = lookup.findVirtual(
          FSDataInputStream.class,
          "readVectored",
          MethodType.methodType(void.class, List.class, IntFunction.class));
    } catch (ReflectiveOperationException error) {
      // An earlier Hadoop: ranges are read one by one.
      make = null;
    }
    MAKE = make;
    READ = read;
    DATA = data;
  }

  private VectoredRead() {}

  /** Whether a stream requests ranges side by side. */
  static boolean isSupported(FSDataInputStream stream) {
    return MAKE != null && stream.hasCapability(CAPABILITY);
  }

  /** Reads ranges, which are sorted and do not overlap. */
  static byte[][] read(FSDataInputStream stream, long[] offsets, int[] lengths) throws Throwable {
    List<Object> ranges = new ArrayList<>(offsets.length);
    for (int i = 0; i < offsets.length; i++) {
      ranges.add(MAKE.invoke(offsets[i], lengths[i]));
    }
    IntFunction<ByteBuffer> allocate = ByteBuffer::allocate;
    READ.invoke(stream, ranges, allocate);
    byte[][] read = new byte[offsets.length][];
    for (int i = 0; i < read.length; i++) {
      ByteBuffer bytes = (ByteBuffer) ((CompletableFuture<?>) DATA.invoke(ranges.get(i))).get();
      read[i] = new byte[bytes.remaining()];
      bytes.duplicate().get(read[i]);
    }
    return read;
  }
}
