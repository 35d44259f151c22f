! SPDX-License-Identifier: GPL-2.0-or-later
! Publishes progress through the Fortran module, and compares it with what is in the page.
program fortran
  use, intrinsic :: iso_fortran_env, only: int64
  use own_page
  use poppa_heartbeat
  implicit none
  integer :: i

  call poppa_heartbeat_add(1)
  call check(own_count() == -1, 'nothing is published before the opening')
  call check(poppa_heartbeat_open() == 0, 'it opens')
  do i = 1, 1000
    call poppa_heartbeat_add(1)
  end do
  call check(own_count() == 1000, 'default integers count')
  call poppa_heartbeat_add(5000000000_int64)
  call check(own_count() == 5000001000_int64, '64-bit integers count')
  call poppa_heartbeat_close()
  call poppa_heartbeat_add(1)
  call check(own_count() == -1, 'it closes')
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) then
      print '(a)', 'ok - Fortran module: ' // what
    else
      print '(a)', 'not ok - Fortran module: ' // what
    end if
  end subroutine
end program
