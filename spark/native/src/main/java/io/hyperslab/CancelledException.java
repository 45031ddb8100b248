package io.hyperslab;

/** The task was killed, or the caller asked to stop. */
public final class CancelledException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  public CancelledException(String reason, String file, String object, Long offset) {
    super("Cancelled", reason, file, object, offset);
  }

  public CancelledException(String reason) {
    this(reason, null, null, null);
  }
}
