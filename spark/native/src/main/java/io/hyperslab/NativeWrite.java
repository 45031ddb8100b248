package io.hyperslab;

/** Native methods behind {@link FileWrite} and {@link TaskWriter}; use those classes instead. */
public final class NativeWrite {
  static {
    NativeLibrary.load();
  }

  private NativeWrite() {}

  static native void check(String request);

  static native byte[] plan(String path, String mode, String replaceable);

  static native String namesInFile(
      String file, String request, boolean isCaseSensitive, String sessionOptions);

  static native byte[] beginPlan(byte[] plan);

  static native boolean commit(byte[] plan, byte[][] fragments);

  static native void abort(byte[] plan);

  static native void checkReplaceable(String target);

  static native void move(String source, String target, String object);

  static native long begin(byte[] plan, long taskIndex, String request);

  static native void append(
      long writer, int column, byte[] values, int length, byte[] heap, int[] ends, int objects);

  static native byte[] finish(long writer);

  static native void close(long writer);

  /** Returns the number of open task writers. */
  public static native int live();
}
