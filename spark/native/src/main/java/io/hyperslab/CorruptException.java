package io.hyperslab;

/** Bytes that contradict the format's specification. */
public final class CorruptException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  public CorruptException(String reason, String file, String object, Long offset) {
    super("Corrupt", reason, file, object, offset);
  }

  public CorruptException(String reason) {
    this(reason, null, null, null);
  }
}
