package io.hyperslab.spark.hadoop;

import io.hyperslab.FileRanges;
import io.hyperslab.FileVersion;
import io.hyperslab.HyperslabException;
import io.hyperslab.InvalidInputException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * An open file of a Hadoop file system. Several ranges are read side by side: by vectored reads if the stream has them, else
 * by threads, each with a stream of its own unless one stream serves all.
 */
final class HadoopRanges implements FileRanges {
  private static final int THREADS = 32;
  private static final long IDLE_SECONDS = 30;
  private static final ThreadPoolExecutor READERS = readers();

  private final FileSystem system;
  private final Path path;
  private final String address;
  private final FileStatus status;
  private final FileVersion version;
  private final FSDataInputStream first;
  /** Whether the first stream reads several ranges in one call, side by side. */
  private final boolean isVectored;
  /** Whether threads read the first stream at the same time. */
  private final boolean isShared;
  /** Whether the file system refuses by itself to read another version than was opened. */
  private final boolean isPinned;

  /** Streams that no thread reads. */
  private final Queue<FSDataInputStream> idle = new ConcurrentLinkedQueue<>();
  /** All streams except the first. */
  private final Queue<FSDataInputStream> others = new ConcurrentLinkedQueue<>();

  private HadoopRanges(FileSystem system, Path path, String address) throws IOException {
    this.system = system;
    this.path = path;
    this.address = address;
    status = system.getFileStatus(path);
    if (status.isDirectory()) {
      throw new InvalidInputException("this is a folder, not a file", address, null, null);
    }
    version = versionOf(status);
    // Not every class says its scheme.
    String scheme = path.toUri().getScheme();
    isPinned = isPinned(scheme, path, system.getConf(), version);
    isShared = scheme.equals("hdfs");
    first = stream();
    isVectored = VectoredRead.isSupported(first);
    if (!isVectored && !isShared) {
      idle.add(first);
    }
  }

  static HadoopRanges open(FileSystem system, Path path, String address) throws IOException {
    HadoopRanges opened = new HadoopRanges(system, path, address);
    try {
      // The stream may be of a version that came after the status.
      if (!opened.isPinned && !opened.isCurrent()) {
        throw HadoopErrors.changed(address);
      }
      return opened;
    } catch (IOException | RuntimeException error) {
      opened.close();
      throw error;
    }
  }

  static FileVersion versionOf(FileStatus status) {
    String tag = status instanceof EtagSource ? ((EtagSource) status).getEtag() : null;
    return new FileVersion(
        status.getLen(), status.getModificationTime(), tag == null || tag.isEmpty() ? null : tag);
  }

  /** Whether each request names the entity tag that was opened. */
  private static boolean isPinned(
      String scheme, Path path, Configuration configuration, FileVersion version) {
    if (version.tag == null) {
      return false;
    }
    if (scheme.equals("s3a")) {
      String all = configuration.get("fs.s3a.change.detection.mode", "server");
      String mode = configuration.get(
          "fs.s3a.bucket." + path.toUri().getHost() + ".change.detection.mode", all);
      return mode.equals("server") || mode.equals("client");
    }
    return scheme.equals("abfs") || scheme.equals("abfss");
  }

  private static ThreadPoolExecutor readers() {
    ThreadPoolExecutor readers = new ThreadPoolExecutor(
        THREADS, THREADS, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), work -> {
          Thread thread = new Thread(work, "hyperslab-hadoop");
          thread.setDaemon(true);
          return thread;
        });
    readers.allowCoreThreadTimeOut(true);
    return readers;
  }

  private FSDataInputStream stream() throws IOException {
    if (version.tag == null) {
      return system.open(path);
    }
    // Object stores: the status is known, and reads are at random places.
    try {
      return system
          .openFile(path)
          .withFileStatus(status)
          .opt("fs.option.openfile.read.policy", "random")
          .opt("fs.s3a.experimental.input.fadvise", "random")
          .build()
          .get();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new java.io.InterruptedIOException("interrupted while a file was opened");
    } catch (java.util.concurrent.ExecutionException error) {
      throw error.getCause() instanceof IOException
          ? (IOException) error.getCause()
          : new IOException(error.getCause());
    }
  }

  @Override
  public FileVersion version() {
    return version;
  }

  @Override
  public byte[][] read(long[] offsets, int[] lengths) {
    try {
      byte[][] read =
          isVectored ? VectoredRead.read(first, offsets, lengths) : readEach(offsets, lengths);
      // One stream of HDFS has the blocks of one version.
      if (!isPinned && !isShared && !isCurrent()) {
        throw HadoopErrors.changed(address);
      }
      return read;
    } catch (HyperslabException error) {
      throw error;
    } catch (Throwable error) {
      throw failed(error);
    }
  }

  private byte[][] readEach(long[] offsets, int[] lengths) throws Exception {
    byte[][] read = new byte[offsets.length][];
    List<Future<byte[]>> running = new ArrayList<>();
    for (int i = 1; i < offsets.length; i++) {
      long offset = offsets[i];
      int length = lengths[i];
      running.add(READERS.submit(() -> readOne(offset, length)));
    }
    Exception failure = null;
    try {
      read[0] = readOne(offsets[0], lengths[0]);
    } catch (IOException | RuntimeException error) {
      failure = error;
    }
    // All have ended before the streams can be closed.
    for (int i = 1; i < read.length; i++) {
      try {
        read[i] = running.get(i - 1).get();
      } catch (java.util.concurrent.ExecutionException error) {
        failure = failure == null ? error : failure;
      }
    }
    if (failure != null) {
      throw failure;
    }
    return read;
  }

  private byte[] readOne(long offset, int length) throws IOException {
    byte[] bytes = new byte[length];
    if (isShared) {
      first.readFully(offset, bytes, 0, length);
      return bytes;
    }
    FSDataInputStream stream = idle.poll();
    if (stream == null) {
      stream = stream();
      others.add(stream);
    }
    stream.readFully(offset, bytes, 0, length);
    idle.add(stream);
    return bytes;
  }

  private boolean isCurrent() throws IOException {
    return versionOf(system.getFileStatus(path)).equals(version);
  }

  /** The error of a failed read: a conflict if the reason is that the file is another one by now. */
  private HyperslabException failed(Throwable error) {
    HyperslabException read = HadoopErrors.of(error, address, system.getConf());
    try {
      return isCurrent() ? read : HadoopErrors.changed(address);
    } catch (FileNotFoundException gone) {
      return HadoopErrors.changed(address);
    } catch (IOException | RuntimeException unknown) {
      return read;
    }
  }

  @Override
  public void close() {
    others.add(first);
    for (FSDataInputStream stream = others.poll(); stream != null; stream = others.poll()) {
      try {
        stream.close();
      } catch (IOException error) {
        // All that was wanted of it was read.
      }
    }
  }
}
