package io.hyperslab.spark.hadoop;

import io.hyperslab.CancelledException;
import io.hyperslab.ConflictException;
import io.hyperslab.HyperslabException;
import io.hyperslab.IoException;
import io.hyperslab.NotFoundException;
import io.hyperslab.UnsupportedException;
import java.io.FileNotFoundException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.lang.reflect.UndeclaredThrowableException;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
import java.security.PrivilegedActionException;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.security.AccessControlException;

/** Converts exceptions of Hadoop to exceptions of this library. No message has a secret of the configuration. */
final class HadoopErrors {
  /** Names of settings whose values are secret, as Spark redacts them. */
  private static final Pattern SECRET =
      Pattern.compile("(?i).*(secret|password|token|access[.]?key|account[.]key|sas).*");

  /** The query of an address, which may be a signature. */
  private static final Pattern QUERY = Pattern.compile("(://[^\\s?]*)\\?[^\\s]+");

  /** A shorter value may occur in a message by chance. */
  private static final int MIN_SECRET = 6;

  private HadoopErrors() {}

  /**
   * The error of an exception of Hadoop.
   *
   * @param address address of the file or folder
   */
  static HyperslabException of(Throwable error, String address, Configuration configuration) {
    Throwable cause = unwrapped(error);
    if (cause instanceof HyperslabException) {
      return (HyperslabException) cause;
    }
    String text = shown(cause, configuration);
    if (cause instanceof FileNotFoundException) {
      return new NotFoundException("no such file or folder", address, null, null);
    }
    if (cause instanceof UnsupportedFileSystemException
        || hasCause(cause, ClassNotFoundException.class)) {
      return new UnsupportedException(
          "Hadoop has no file system for this address (" + text
              + "): put its jars on Spark's class path, such as hadoop-aws for s3a://",
          address,
          null,
          null);
    }
    if (isInterruption(cause)) {
      return new CancelledException("cancelled by Spark", address, null, null);
    }
    if (cause.getClass().getSimpleName().equals("RemoteFileChangedException")) {
      return changed(address);
    }
    boolean isDenied =
        cause instanceof AccessControlException || cause instanceof AccessDeniedException;
    return new IoException(
        (isDenied ? "access was denied: " : "the file system failed: ") + text,
        address,
        null,
        null);
  }

  /** The error for a file that is another version than was opened. */
  static ConflictException changed(String address) {
    return new ConflictException(
        "the file was replaced or changed while it was read: read it again", address, null, null);
  }

  private static Throwable unwrapped(Throwable error) {
    Throwable cause = error;
    while (cause.getCause() != null
        && (cause instanceof ExecutionException
            || cause instanceof CompletionException
            || cause instanceof UndeclaredThrowableException
            || cause instanceof UncheckedIOException
            || cause instanceof PrivilegedActionException)) {
      cause = cause.getCause();
    }
    return cause;
  }

  private static boolean hasCause(Throwable error, Class<? extends Throwable> kind) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (kind.isInstance(cause)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isInterruption(Throwable error) {
    return error instanceof InterruptedException
        || error instanceof ClosedByInterruptException
        || (error instanceof InterruptedIOException && !(error instanceof SocketTimeoutException));
  }

  /** Class and message in one line, without secrets and without the queries of addresses. */
  private static String shown(Throwable error, Configuration configuration) {
    String message = error.getMessage() == null ? "" : error.getMessage().trim();
    String line = message.split("\\R", 2)[0];
    String text = QUERY.matcher(line).replaceAll("$1?...");
    for (Map.Entry<String, String> setting : configuration) {
      String value = setting.getValue();
      if (value != null
          && value.length() >= MIN_SECRET
          && SECRET.matcher(setting.getKey()).matches()) {
        text = text.replace(value, "***");
      }
    }
    return error.getClass().getSimpleName() + (text.isEmpty() ? "" : ": " + text);
  }
}
