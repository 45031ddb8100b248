package io.hyperslab.spark;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertNull;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class PlacementTest {
  @Rule
  public TemporaryFolder folder = new TemporaryFolder();

  /** Reports the first half of a file on host "a" (and "localhost"), the other half on a host with the file's name. */
  public static final class FileSystemWithHosts extends LocalFileSystem {
    @Override
    public BlockLocation[] getFileBlockLocations(FileStatus file, long start, long length) {
      long half = file.getLen() / 2;
      String own = file.getPath().getName();
      return new BlockLocation[] {
        new BlockLocation(null, new String[] {"a", "localhost"}, 0, half),
        new BlockLocation(null, new String[] {own}, half, file.getLen() - half)
      };
    }
  }

  private Path file(String name, int bytes) throws Exception {
    Path file = folder.getRoot().toPath().resolve(name);
    java.nio.file.Files.write(file, new byte[bytes]);
    return file;
  }

  @Test
  public void hostsAreInDescendingOrderOfBytes() throws Exception {
    Configuration configuration = new Configuration(false);
    configuration.setClass("fs.file.impl", FileSystemWithHosts.class, LocalFileSystem.class);
    configuration.setBoolean("fs.file.impl.disable.cache", true);
    Placement placement = Placement.of(configuration, null);
    String files = String.format(
        "{\"%s\": 100, \"%s\": 1000, \"%s\": 10, \"%s\": 5}",
        file("b", 10), file("c d", 20), file("e", 8), folder.getRoot() + "/gone");
    assertArrayEquals(
        new String[] {"a", "c d", "b"}, placement.hosts(new ObjectMapper().readTree(files)));
  }

  @Test
  public void theDefaultFileSystemReportsNoHosts() {
    Configuration configuration = new Configuration(false);
    configuration.set("fs.file.impl", LocalFileSystem.class.getName());
    configuration.setBoolean("fs.file.impl.disable.cache", true);
    assertNull(Placement.of(configuration, null));
  }
}
