package io.hyperslab;

/** A file that changed between planning and reading. */
public final class ConflictException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  public ConflictException(String reason, String file, String object, Long offset) {
    super("Conflict", reason, file, object, offset);
  }

  public ConflictException(String reason) {
    this(reason, null, null, null);
  }
}
