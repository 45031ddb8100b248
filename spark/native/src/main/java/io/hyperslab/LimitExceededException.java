package io.hyperslab;

/** A bound on what a file may cost was met. */
public final class LimitExceededException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  public LimitExceededException(String reason, String file, String object, Long offset) {
    super("LimitExceeded", reason, file, object, offset);
  }

  public LimitExceededException(String reason) {
    this(reason, null, null, null);
  }
}
