package slow;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.security.AccessControlException;

/**
 * Local files as {@code slow:///path}, for those who have the password. What the tests need of a file system that no server
 * has: reads that take {@code fs.slow.milliseconds}, files that are replaced at a known moment, and
 * renames that fail.
 */
public class SlowFileSystem extends RawLocalFileSystem {
  private static final AtomicInteger OPEN = new AtomicInteger();
  private static final AtomicInteger READS = new AtomicInteger();
  private static final AtomicInteger UNTIL_REPLACED = new AtomicInteger(Integer.MAX_VALUE);
  private static volatile String replacement;
  private long milliseconds;

  /** Streams that are open now. */
  public static int openStreams() {
    return OPEN.get();
  }

  /** Reads of this process. */
  public static int reads() {
    return READS.get();
  }

  /** After so many further reads, another file takes the place of the one that is read. */
  public static void replaceAfter(int reads, String file) {
    replacement = file;
    UNTIL_REPLACED.set(reads);
  }

  @Override
  public URI getUri() {
    return URI.create("slow:///");
  }

  /** As for classes that do not say their scheme. */
  @Override
  public String getScheme() {
    throw new UnsupportedOperationException("no scheme");
  }

  @Override
  public void initialize(URI name, Configuration configuration) throws IOException {
    super.initialize(name, configuration);
    milliseconds = configuration.getLong("fs.slow.milliseconds", 0);
    String password = configuration.get("fs.slow.password", "");
    if (!password.equals("open sesame")) {
      throw new AccessControlException("wrong password '" + password + "' at https://me/?sig=abcdef");
    }
  }

  /** Without permissions, which Java would ask for by the path as one of local files. */
  private static FileStatus plain(FileStatus status) {
    return new FileStatus(
        status.getLen(),
        status.isDirectory(),
        1,
        status.getBlockSize(),
        status.getModificationTime(),
        status.getPath());
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    return plain(super.getFileStatus(path));
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    return java.util.Arrays.stream(super.listStatus(path)).map(SlowFileSystem::plain).toArray(FileStatus[]::new);
  }

  /** Fails for files called {@code denied.h5}, and for {@code lost.h5} after it has renamed them. */
  @Override
  public boolean rename(Path from, Path to) throws IOException {
    if (to.getName().equals("denied.h5")) {
      throw new IOException("the name node refuses");
    }
    boolean isRenamed = super.rename(from, to);
    if (to.getName().equals("lost.h5")) {
      throw new IOException("the answer is lost");
    }
    return isRenamed;
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    OPEN.incrementAndGet();
    return new FSDataInputStream(new Slow(super.open(path, bufferSize), pathToFile(path).toPath()));
  }

  private final class Slow extends FSInputStream {
    private final FSDataInputStream inner;
    private final java.nio.file.Path file;

    Slow(FSDataInputStream inner, java.nio.file.Path file) {
      this.inner = inner;
      this.file = file;
    }

    @Override
    public int read(long position, byte[] buffer, int offset, int length) throws IOException {
      READS.incrementAndGet();
      if (UNTIL_REPLACED.decrementAndGet() == 0) {
        Files.copy(
            Paths.get(replacement), file, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
      }
      try {
        Thread.sleep(milliseconds);
      } catch (InterruptedException error) {
        throw new IOException(error);
      }
      return inner.read(position, buffer, offset, length);
    }

    @Override
    public void seek(long position) throws IOException {
      inner.seek(position);
    }

    @Override
    public long getPos() throws IOException {
      return inner.getPos();
    }

    @Override
    public boolean seekToNewSource(long position) {
      return false;
    }

    @Override
    public int read() throws IOException {
      return inner.read();
    }

    @Override
    public void close() throws IOException {
      OPEN.decrementAndGet();
      inner.close();
    }
  }
}
