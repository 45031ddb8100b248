package io.hyperslab.spark.hadoop;

import io.hyperslab.FileOpener;
import io.hyperslab.FileRanges;
import io.hyperslab.FileVersion;
import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;

/** The Hadoop file systems of one configuration, for the user that ran when it was made. */
final class HadoopOpener implements FileOpener {
  private final Configuration configuration;
  private final UserGroupInformation user;
  /** File systems by scheme and authority. Hadoop's own cache would return file systems of other configurations. */
  private final Map<String, FileSystem> systems = new ConcurrentHashMap<>();

  HadoopOpener(Configuration configuration) {
    this.configuration = configuration;
    try {
      user = UserGroupInformation.getCurrentUser();
    } catch (IOException error) {
      throw HadoopErrors.of(error, null, configuration);
    }
  }

  /** Work with a file system. */
  interface Work<T> {
    T of(FileSystem system, Path path) throws IOException;
  }

  /** Runs work as the user, with the classes of the configuration. Converts exceptions. */
  <T> T run(String address, Work<T> work) {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(configuration.getClassLoader());
    try {
      return user.doAs((PrivilegedExceptionAction<T>) () -> {
        Path path = new Path(address);
        return work.of(system(path), path);
      });
    } catch (IOException | InterruptedException | RuntimeException | Error error) {
      throw HadoopErrors.of(error, address, configuration);
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  private FileSystem system(Path path) throws IOException {
    String name = path.toUri().getScheme() + "://" + path.toUri().getAuthority();
    FileSystem known = systems.get(name);
    if (known != null) {
      return known;
    }
    synchronized (systems) {
      known = systems.get(name);
      if (known == null) {
        known = FileSystem.newInstance(path.toUri(), configuration);
        systems.put(name, known);
      }
      return known;
    }
  }

  @Override
  public FileRanges open(String address) {
    return run(address, (system, path) -> HadoopRanges.open(system, path, address));
  }

  @Override
  public FileVersion version(String address) {
    return run(address, (system, path) -> HadoopRanges.versionOf(system.getFileStatus(path)));
  }
}
