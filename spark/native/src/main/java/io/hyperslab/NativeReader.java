package io.hyperslab;

/** The native methods behind {@link SplitReader}, which is what to use. */
public final class NativeReader {
  static {
    NativeLibrary.load();
  }

  private NativeReader() {}

  static native long open(byte[] split, String sessionOptions, String aggregates);

  static native long schema(long reader);

  static native long next(long reader);

  static native void cancel(long reader);

  static native long[] counters(long reader);

  static native void close(long reader);

  /** How many readers are open. */
  public static native int live();
}
