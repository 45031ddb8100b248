package io.hyperslab.spark.hadoop;

import io.hyperslab.HyperslabException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.NotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;

/** Writes, copies and removes files of Hadoop's file systems. */
public final class HadoopOutput {
  /** What streams say whose file does not appear before they are closed. */
  static final String ABORTABLE = "fs.capability.outputstream.abortable";

  private final HadoopFiles files;

  /** Uses these file systems. */
  public HadoopOutput(HadoopFiles files) {
    this.files = files;
  }

  /** Copies a local file. If that fails, nothing stays at the address. */
  public void upload(java.nio.file.Path file, String address) {
    try {
      files.run(address, (system, path) -> {
        copy(file, system.create(path, true));
        return null;
      });
    } catch (HyperslabException error) {
      removeAfter(error, address);
      throw error;
    }
  }

  /** Copies a local file into a stream and closes it. If the copy fails before the file appears, the stream is aborted. */
  static void copy(java.nio.file.Path file, FSDataOutputStream stream) throws IOException {
    boolean isCopied = false;
    try {
      Files.copy(file, stream);
      isCopied = true;
    } finally {
      if (!isCopied && stream.hasCapability(ABORTABLE)) {
        stream.abort();
      }
      stream.close();
    }
  }

  private void removeAfter(HyperslabException error, String address) {
    try {
      remove(address);
    } catch (HyperslabException second) {
      error.addSuppressed(second);
    }
  }

  /** Writes a small file, which replaces an existing one. */
  public void put(String address, byte[] content) {
    files.run(address, (system, path) -> {
      try (OutputStream stream = system.create(path, true)) {
        stream.write(content);
      }
      return null;
    });
  }

  /** Copies a file to a local one. */
  public void download(String address, java.nio.file.Path file) {
    files.run(address, (system, path) -> {
      try (InputStream stream = system.open(path)) {
        return Files.copy(stream, file);
      }
    });
  }

  /** Whether there is a file or folder. */
  public boolean exists(String address) {
    return files.find(address) != null;
  }

  /** Removes a file, or a folder with everything in it. Does nothing if there is none. */
  public void remove(String address) {
    files.run(address, (system, path) -> system.delete(path, true));
  }

  /** All files below a folder; none if there is no folder. */
  public List<HadoopEntry> filesBelow(String folder) {
    try {
      return files.filesBelow(folder);
    } catch (NotFoundException error) {
      return Collections.emptyList();
    }
  }

  /**
   * Renames a file unless the new name exists.
   *
   * @return whether it was renamed
   */
  boolean renameToNew(String from, String to) {
    return files.run(from, (system, path) -> {
      Path target = new Path(to);
      try {
        // Some classes replace an existing file without an error.
        return !system.exists(target) && system.rename(path, target);
      } catch (org.apache.hadoop.fs.FileAlreadyExistsException error) {
        return false;
      }
    });
  }

  /** The folder of an address. */
  static String folderOf(String address) {
    Path parent = new Path(address).getParent();
    if (parent == null) {
      throw new InvalidInputException("this is not the path of a file", address, null, null);
    }
    return HadoopEntry.address(parent);
  }
}
