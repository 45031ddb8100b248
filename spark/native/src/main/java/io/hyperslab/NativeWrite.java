package io.hyperslab;

/** The native methods behind {@link FileWrite} and {@link TaskWriter}, which are what to use. */
public final class NativeWrite {
  static {
    NativeLibrary.load();
  }

  private NativeWrite() {}

  static native void check(String request);

  static native byte[] plan(String path, String mode, String only);

  static native byte[] beginPlan(byte[] plan);

  static native boolean commit(byte[] plan, byte[][] fragments);

  static native void abort(byte[] plan);

  static native long begin(byte[] plan, long number, String request);

  static native void append(
      long writer, int column, byte[] values, int length, byte[] heap, int[] ends, int objects);

  static native byte[] finish(long writer);

  static native void close(long writer);

  /** How many tasks are under way. */
  public static native int live();
}
