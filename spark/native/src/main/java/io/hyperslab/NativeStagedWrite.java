package io.hyperslab;

/** Native methods behind {@link StagedWrite} and {@link TaskWriter}; use those classes instead. */
final class NativeStagedWrite {
  static {
    NativeLibrary.load();
  }

  private NativeStagedWrite() {}

  static native byte[] plan(String folder, String name);

  static native String subfolder(byte[] plan);

  static native long begin(byte[] plan, long taskIndex, String request, String folder);

  static native byte[] stage(
      byte[] plan, byte[][] fragments, String replaced, String appended, String master);

  static native String commitOf(String file, String sessionOptions);

  static native void checkLosses(String file, String replaceable, String sessionOptions);
}
