package io.hyperslab;

/** Native methods behind {@link SplitReader}; use that class instead. */
public final class NativeReader {
  static {
    NativeLibrary.load();
  }

  private NativeReader() {}

  static native long begin();

  static native void end(long cancellation);

  static native long open(
      long cancellation,
      byte[] split,
      String sessionOptions,
      String aggregates,
      String keys,
      String top);

  static native long schema(long reader);

  static native long next(long reader);

  static native void cancel(long cancellation);

  static native long[] counters(long reader);

  static native void close(long reader);

  /** Drops the decoded chunks that the tasks of this process share. */
  public static native void forgetChunks();

  /** Returns the number of open readers. */
  public static native int live();
}
