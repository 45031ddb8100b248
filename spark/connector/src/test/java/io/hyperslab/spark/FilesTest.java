package io.hyperslab.spark;

import static org.junit.Assert.assertEquals;

import java.util.Arrays;
import org.junit.Test;

public class FilesTest {
  @Test
  public void filesAreInNaturalOrder() {
    assertEquals(
        Arrays.asList("run_1", "run_2", "run_010", "run_10", "run_x"),
        Files.natural(Arrays.asList("run_x", "run_010", "run_10", "run_2", "run_1")));
  }

  @Test
  public void fileUrisAreLocalPaths() {
    assertEquals("/a/b", Files.local("file:///a/b").toString());
    assertEquals("/a/b", Files.local("file:/a/./b").toString());
    assertEquals("/a/b c", Files.local("file:/a/b%20c").toString());
    assertEquals("/a/100%", Files.local("file:/a/100%").toString());
    assertEquals("/a/b:c", Files.local("/a/b:c").toString());
  }
}
